"""Is today unlike the days before, has the stream changed, what will the loss be?"""
