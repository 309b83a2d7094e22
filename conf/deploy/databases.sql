-- Run once, when the data folder is made: MLflow and Prefect number their tables' versions alike.
CREATE DATABASE mlflow;
CREATE DATABASE prefect;
